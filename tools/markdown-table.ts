/** Aligned as the formatter would align it. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}

/** Text as it is, between as many backticks as it takes. */
export function markdownCode(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${text.replaceAll("|", "\\|")}${fence}`;
}
