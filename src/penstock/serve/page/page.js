// The endpoints of one version, each with a form that calls it. What a server or a user wrote is only ever set as text.
"use strict";

const SHOWN_ROWS = 1000;
const FORMATS = ["json", "ndjson", "csv", "parquet", "arrow"];
const find = (id) => document.getElementById(id);

function headers() {
  return { Authorization: `Bearer ${find("token").value.trim()}` };
}

function addressOf(name, extension, form) {
  const query = new URLSearchParams();
  for (const field of form.elements) {
    if (field.name && field.value !== "") query.set(field.name, field.value);
  }
  const version = find("version").value.trim();
  if (version && version !== "live") query.set("deployment", version);
  const text = query.toString();
  return `v0/pipes/${encodeURIComponent(name)}.${extension}${text ? `?${text}` : ""}`;
}

async function failureOf(response) {
  const problems = await response.json().catch(() => ({}));
  const lines = [problems.error || `the server answered ${response.status}`];
  for (const each of problems.problems || []) {
    if (each.message !== problems.error) lines.push(each.message);
    if (each.hint) lines.push(`  ${each.hint}`);
  }
  return lines.join("\n");
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function cellOf(value) {
  if (value === null) return element("td", "NULL", "null");
  if (typeof value === "number") return element("td", String(value), "number");
  return element("td", typeof value === "string" ? value : JSON.stringify(value));
}

// Integers beyond 2^53 keep their digits: as text, where a browser can give the source of a number.
function parseAnswer(text) {
  return JSON.parse(text, (key, value, context) => {
    if (typeof value === "number" && context && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return /^-?\d+$/.test(context.source) ? context.source : value;
    }
    return value;
  });
}

function tableOf(answer) {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const column of answer.meta) {
    const title = element("th", column.name);
    title.title = column.type;
    head.append(title);
  }
  const body = table.createTBody();
  const rows = answer.totals ? [...answer.data.slice(0, SHOWN_ROWS), answer.totals] : answer.data.slice(0, SHOWN_ROWS);
  for (const row of rows) {
    const line = body.insertRow();
    for (const column of answer.meta) line.append(cellOf(row[column.name]));
  }
  return table;
}

function countOf(answer) {
  const shown = Math.min(answer.rows, SHOWN_ROWS);
  const cut = shown < answer.rows ? `, the first ${shown} are shown` : "";
  return `${answer.rows} row${answer.rows === 1 ? "" : "s"} in ${answer.statistics.elapsed.toFixed(2)} s${cut}`;
}

async function saveAnswer(response, file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function call(name, form, place) {
  const extension = form.querySelector(".format").value;
  place.replaceChildren(element("p", "…"));
  try {
    const response = await fetch(addressOf(name, extension, form), { headers: headers() });
    if (!response.ok) {
      place.replaceChildren(element("p", await failureOf(response), "error"));
    } else if (extension === "json") {
      const answer = parseAnswer(await response.text());
      place.replaceChildren(tableOf(answer), element("p", countOf(answer)));
    } else {
      await saveAnswer(response, `${name}.${extension}`);
      place.replaceChildren(element("p", `saved as ${name}.${extension}`));
    }
  } catch (error) {
    place.replaceChildren(element("p", `no answer: ${error.message}`, "error"));
  }
}

function fieldOf(parameter) {
  const schema = parameter.schema.items || parameter.schema;
  const field = document.createElement(schema.enum ? "select" : "input");
  if (schema.enum) field.append(new Option("", ""), ...schema.enum.map((each) => new Option(each, each)));
  field.name = parameter.name;
  field.required = parameter.required;
  if (parameter.example !== undefined) field.placeholder = String(parameter.example);
  field.setAttribute("aria-label", parameter.name);
  return field;
}

function rowOf(parameter) {
  const row = document.createElement("tr");
  const value = document.createElement("td");
  value.append(fieldOf(parameter));
  const preset = parameter.schema.default === undefined ? (parameter.required ? "required" : "") : parameter.schema.default;
  row.append(
    element("td", parameter.name),
    value,
    element("td", parameter.schema["x-clickhouse-type"] || ""),
    element("td", String(preset)),
    element("td", parameter.description || ""),
  );
  return row;
}

function sectionOf(name, operation) {
  const section = find("endpoint").content.cloneNode(true).querySelector("section");
  const form = section.querySelector("form");
  const own = operation.parameters.filter((each) => each.schema && each.schema["x-clickhouse-type"]);
  section.querySelector("h2").textContent = name;
  section.querySelector(".about").textContent = operation.summary === name ? "" : operation.summary;
  section.querySelector(".format").append(...FORMATS.map((each) => new Option(each, each)));
  section.querySelector("tbody").append(...own.map(rowOf));
  section.querySelector(".parameters").hidden = own.length === 0;
  const show = () => {
    section.querySelector(".address").textContent = `/${addressOf(name, form.querySelector(".format").value, form)}`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
    call(name, form, section.querySelector(".answer"));
  });
  show();
  return section;
}

async function showEndpoints() {
  const message = find("message");
  const places = find("endpoints");
  const version = find("version").value.trim() || "live";
  places.replaceChildren();
  message.className = "";
  try {
    const address = `v0/pipes/openapi.json?deployment=${encodeURIComponent(version)}`;
    const response = await fetch(address, { headers: headers() });
    if (!response.ok) throw new Error(await failureOf(response));
    sessionStorage.setItem("penstock token", find("token").value.trim());
    const found = Object.entries((await response.json()).paths).filter(([path]) => path.endsWith(".json"));
    const named = found.map(([path, calls]) => [path.slice("/v0/pipes/".length, -".json".length), calls.get]);
    places.append(...named.map(([name, operation]) => sectionOf(name, operation)));
    message.textContent = `${named.length} endpoint${named.length === 1 ? "" : "s"} of ${version}`;
  } catch (error) {
    message.textContent = error.message;
    message.className = "error";
  }
}

find("connection").addEventListener("submit", (event) => {
  event.preventDefault();
  showEndpoints();
});
find("token").value = sessionStorage.getItem("penstock token") || "";
if (find("token").value) showEndpoints();
