"use strict";
document.documentElement.classList.add("scripted");

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const wasDescending = heading.getAttribute("aria-sort") === "descending";
      const numeric = heading.classList.contains("number");
      const wasAscending = heading.getAttribute("aria-sort") === "ascending";
      const descending = numeric ? !wasDescending : wasAscending;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row, place) => ({ row, place, cell: row.cells[column] }));
      rows.sort((a, b) => {
        const order = "value" in a.cell.dataset && "value" in b.cell.dataset
          ? Number(a.cell.dataset.value) - Number(b.cell.dataset.value)
          : a.cell.textContent.localeCompare(b.cell.textContent);
        return (descending ? -order : order) || a.place - b.place;
      });
      body.append(...rows.map((entry) => entry.row));
    });
  });
}

const theme = document.getElementById("theme");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () =>
  (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.hidden = false;
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  label();
});
dark.addEventListener("change", label);
label();

window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
