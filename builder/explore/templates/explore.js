
document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

for (const copier of document.querySelectorAll(".copier")) {
  copier.hidden = false;
  copier.addEventListener("click", async () => {
    const text = copier.closest(".copy").querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      copier.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(text);
      copier.textContent = "Selected: press Ctrl-C";
    }
  });
}
