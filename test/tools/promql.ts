/** As much of PromQL as it takes to tell which metrics an expression reads. */

const WORDS = new Set([
  "and",
  "bool",
  "by",
  "group_left",
  "group_right",
  "ignoring",
  "inf",
  "nan",
  "offset",
  "on",
  "or",
  "unless",
  "without",
]);

export function metricsIn(expr: string): readonly string[] {
  const selectors = expr
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, "")
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, " ")
    .replaceAll(/\boffset\s+\$?\w+/g, " ");
  const names = [...selectors.matchAll(/(?<!\w)[a-zA-Z_:][\w:]*(?!\s*\()\b(?!\s*\()/g)].map(([name]) => name);
  return [...new Set(names.filter((name) => !WORDS.has(name.toLowerCase()) && !/^\d/.test(name)))];
}

/** The queries inside an alert's texts, with the labels of this upstream, instance and budget. */
export function queriesIn(template: string, labels: Readonly<Record<string, string>>): readonly string[] {
  return [...template.matchAll(/printf `([^`]*)` ([^|]*)\| query/g)].map(([, query = "", names = ""]) => {
    const values = names
      .trim()
      .split(/\s+/)
      .map((name) => labels[name.replace("$labels.", "")] ?? "");
    return query.replaceAll("%q", () => JSON.stringify(values.shift() ?? ""));
  });
}
