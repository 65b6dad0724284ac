// On Locust's own page: its start form keeps what llmload asks for behind "Custom parameters"; this opens it.
const opened = new WeakSet();

function open() {
  for (const head of document.querySelectorAll(".MuiAccordionSummary-root")) {
    if (head.textContent.trim() !== "Custom parameters" || opened.has(head)) continue;
    opened.add(head);
    if (head.getAttribute("aria-expanded") === "false") head.click();
  }
}

open();
new MutationObserver(open).observe(document.getElementById("root"), { childList: true, subtree: true });
