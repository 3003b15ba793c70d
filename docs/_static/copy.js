// A button on every example that copies what one types: no prompts, no output.
function typed(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.some((line) => line.startsWith(">>> "))) {
    const kept = [];
    let block = false; // the line before is of an indented block, which a prompt ends by an empty line
    for (const line of lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line))) {
      if (block && line.startsWith(">>>")) kept.push("");
      kept.push(line.slice(4));
      block = line.startsWith("...  ");
    }
    return kept.join("\n");
  }
  if (!lines.some((line) => line.startsWith("$ "))) return lines.join("\n");
  const kept = [];
  let until = null; // the last line of a here-document
  let goes = false; // the line before ends in a backslash
  for (const line of lines) {
    const begins = line.startsWith("$ ");
    if (!begins && until === null && !goes) continue;
    const own = begins && until === null && !goes ? line.slice(2) : line;
    kept.push(own);
    if (until !== null) until = line === until ? null : until;
    else until = own.match(/<<-? *['"]?(\w+)/)?.[1] ?? null;
    goes = own.endsWith("\\");
  }
  return kept.join("\n");
}

for (const block of document.querySelectorAll("div.highlight")) {
  const code = block.querySelector("pre");
  if (!code) continue;
  const text = code.textContent; // before the button is there
  const button = Object.assign(document.createElement("button"), { className: "copy", type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(typed(text));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}
