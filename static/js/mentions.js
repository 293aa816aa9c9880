// Names after an @: those who may see the request, below the field. Arrows choose, Enter or Tab takes,
// Escape closes. Without this one types the name; the server says which it does not know.
(function () {
  "use strict";
  const WORD = /(?:^|[^\w@])@([\w.-]{0,60})$/;
  const WAIT = 150;

  function begin(field) {
    const list = document.createElement("ul");
    list.id = `${field.id}-people`;
    list.className = "mentions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "People to notify");
    list.hidden = true;
    field.after(list);
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    let chosen = -1;
    let asked = 0;
    let timer = 0;

    const word = () => WORD.exec(field.value.slice(0, field.selectionStart));

    function say(text) {
      const place = document.getElementById("status");
      if (place) place.textContent = text;
    }

    function close() {
      asked += 1;
      list.hidden = true;
      list.replaceChildren();
      chosen = -1;
      field.removeAttribute("aria-activedescendant");
    }

    function choose(number) {
      const all = [...list.children];
      chosen = (number + all.length) % all.length;
      all.forEach((one, place) => one.setAttribute("aria-selected", String(place === chosen)));
      field.setAttribute("aria-activedescendant", all[chosen].id);
    }

    function take(name) {
      const found = word();
      close();
      if (!found) return;
      const end = field.selectionStart;
      field.setRangeText(`${name} `, end - found[1].length, end, "end");
      field.focus();
    }

    function show(people) {
      list.replaceChildren(
        ...people.map((one, number) => {
          const item = document.createElement("li");
          item.id = `${list.id}-${number}`;
          item.setAttribute("role", "option");
          item.dataset.name = one.name;
          const name = document.createElement("span");
          name.className = "mono";
          name.textContent = `@${one.name}`;
          item.append(name, ` ${one.called}`);
          // Before the field loses the cursor.
          item.addEventListener("mousedown", function (event) {
            event.preventDefault();
            take(one.name);
          });
          return item;
        }),
      );
      list.hidden = !people.length;
      say(people.length ? `${people.length} people; arrows choose, Enter takes` : "Nobody is called so");
      if (people.length) choose(0);
    }

    async function ask() {
      const found = word();
      if (!found) {
        close();
        return;
      }
      asked += 1;
      const mine = asked;
      try {
        const answer = await fetch(`${field.dataset.mentions}?begins=${encodeURIComponent(found[1])}`);
        if (!answer.ok) throw new Error(String(answer.status));
        const { people } = await answer.json();
        // What was typed since asks for itself.
        if (mine === asked) show(people);
      } catch {
        if (mine === asked) close();
      }
    }

    field.addEventListener("input", function () {
      clearTimeout(timer);
      if (word()) timer = setTimeout(ask, WAIT);
      else close();
    });
    field.addEventListener("blur", function () {
      clearTimeout(timer);
      close();
    });
    field.addEventListener("keydown", function (event) {
      if (list.hidden || event.isComposing) return;
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if (event.key === "Escape") close();
      else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) {
        take(list.children[chosen].dataset.name);
      } else return;
      event.preventDefault();
    });
  }

  document.querySelectorAll("textarea[data-mentions]").forEach(begin);
})();
