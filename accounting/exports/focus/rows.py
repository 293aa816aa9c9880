def table(lines):
    raise NotImplementedError
