/** The page with this between `<!-- name -->` and `<!-- /name -->`, and nothing else of it changed. */
export function betweenMarkers(page: string, name: string, text: string): string {
  const begin = `<!-- ${name} -->\n`;
  const end = `<!-- /${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from)
    throw new Error(`cannot write: the page must have "${begin.trim()}" and "${end}"`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}
