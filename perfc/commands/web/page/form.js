// The form: settings of an operation, as the catalogue lists them.

export const byId = (id) => document.getElementById(id);

export function made(tag, fields = {}, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
}

function chips(setting, value, changed) {
  const box = made("div", { className: "chips" });
  const input = made("input", { ariaLabel: `add to ${setting.label}`, placeholder: "add …", spellcheck: false });
  input.setAttribute("list", "machines");
  const add = (name) => {
    const chip = made("button", { type: "button", title: `remove ${name}` }, name);
    chip.dataset.name = name;
    chip.addEventListener("click", () => { chip.remove(); changed(); });
    box.insertBefore(chip, input);
  };
  const take = () => {
    const names = input.value.split(",").map((n) => n.trim()).filter(Boolean);
    input.value = "";
    for (const name of names) add(name);
    if (names.length) changed();
  };
  input.addEventListener("change", (event) => { event.stopPropagation(); take(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value) { event.preventDefault(); take(); }
    if (event.key === "Backspace" && !input.value) { input.previousElementSibling?.remove(); }
  });
  box.append(input);
  for (const name of value.split(",").filter(Boolean)) add(name);
  return box;
}

function control(setting, value, catalogue, changed) {
  if (setting.kind === "machines") return chips(setting, value, changed);
  if (setting.kind === "name") {
    const names = catalogue[setting.choices];
    const first = made("option", { value: "" }, setting.empty);
    const select = made("select", {}, first, ...names.map((n) => made("option", { value: n }, n)));
    if (setting.lacking) select.append(made("option", { disabled: true }, setting.lacking));
    select.value = names.includes(value) ? value : "";
    return select;
  }
  const input = made("input", { value, spellcheck: false });
  if (setting.kind === "number") {
    input.inputMode = "numeric";
    input.pattern = "[1-9][0-9]{0,6}";
    input.placeholder = "default";
  } else {
    input.setAttribute("list", "machines");
    input.addEventListener("focus", () => input.select());
  }
  return input;
}

export class Form {
  constructor(catalogue, changed) {
    this.catalogue = catalogue;
    this.changed = changed;
    this.values = {};
    for (const { name, settings } of catalogue.operations) {
      this.values[name] = Object.fromEntries(settings.map((s) => [s.name, s.usual]));
    }
    this.operation = catalogue.operations[0];
    this.controls = new Map();
    this.fill();
  }

  fill() {
    const { catalogue } = this;
    byId("models").append(...[...catalogue.samples, ...catalogue.models].map((n) => made("option", { value: n })));
    byId("machines").append(...catalogue.machines.map(([value, label]) => made("option", { value, label })));
    byId("tabs").append(...catalogue.operations.map((one, i) => {
      const tab = made("button", { type: "button", title: `${one.summary} (${i + 1})` }, one.title);
      tab.setAttribute("role", "tab");
      tab.dataset.name = one.name;
      tab.addEventListener("click", () => { this.choose(one.name); this.changed(); });
      return tab;
    }));
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const tabs = [...byId("tabs").children];
      const next = tabs.at((tabs.indexOf(event.target) + step) % tabs.length);
      next.focus();
      next.click();
    });
    byId("samples").append(...catalogue.samples.map((name) => {
      const sample = made("button", { type: "button" }, name);
      sample.addEventListener("click", () => {
        byId("model").value = name;
        byId("model").dispatchEvent(new Event("change", { bubbles: true }));
      });
      return sample;
    }));
  }

  // Shows the settings of an operation.
  choose(name, values = {}) {
    this.operation = this.catalogue.operations.find((o) => o.name === name) || this.operation;
    const current = this.values[this.operation.name];
    for (const { name: key } of this.operation.settings) if (key in values) current[key] = values[key];
    for (const tab of byId("tabs").children) {
      const isChosen = tab.dataset.name === this.operation.name;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
    }
    byId("summary").textContent = this.operation.summary;
    byId("run").textContent = this.operation.title;
    this.controls = new Map(this.operation.settings.map((s) => [s.name, control(s, current[s.name], this.catalogue, this.changed)]));
    byId("settings").replaceChildren(...this.operation.settings.map((s) => {
      const isWide = s.kind.startsWith("machine");
      const tag = s.kind === "machines" ? "div" : "label";
      return made(tag, { className: isWide ? "field wide" : "field" }, made("span", {}, s.label), this.controls.get(s.name));
    }));
  }

  // Settings that are not empty.
  read() {
    const values = this.values[this.operation.name];
    for (const [name, element] of this.controls) {
      const names = [...element.children].map((c) => c.dataset?.name).filter(Boolean);
      values[name] = element.className === "chips" ? names.join(",") : element.value.trim();
    }
    return Object.fromEntries(Object.entries(values).filter(([, value]) => value));
  }
}

// `#op=analyze&model=resnet50&target=a100`: settings and the name of a model, never a file.
export function fragment(operation, settings, model) {
  return `#${new URLSearchParams({ op: operation, ...(model ? { model } : {}), ...settings })}`;
}

export function linked() {
  const { op = "", model = "", token = "", ...settings } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return { op, model, token, settings };
}
