/** A plot of lines, in a form that any browser shows, light or dark. */
export type Plot = {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly lines: readonly Line[];
};

export type Line = { readonly name: string; readonly points: readonly Point[] };
export type Point = { readonly x: number; readonly y: number };

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 70;
const RIGHT = 170;
const TOP = 44;
const BOTTOM = 56;
/** Told apart by those who see few colours, too; and by their order at the right. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"];
const TICKS = 5;

export function svgOf(plot: Plot): string {
  const points = plot.lines.flatMap((line) => line.points);
  const xTicks = ticksUpTo(Math.max(0, ...points.map(({ x }) => x)));
  const yTicks = ticksUpTo(Math.max(0, ...points.map(({ y }) => y)));
  const place = placeOf(xTicks.at(-1) ?? 1, yTicks.at(-1) ?? 1);
  const parts = [
    text(LEFT, 24, plot.title, 'font-size="16" font-weight="bold"'),
    ...yTicks.map((y) => yTick(place({ x: 0, y }).y, y)),
    ...xTicks.map((x) => xTick(place({ x, y: 0 }).x, x)),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, plot.xTitle, 'text-anchor="middle"'),
    text(12, TOP - 8, plot.yTitle, ""),
    ...plot.lines.map((line, index) => drawn(line, place, index)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">
<title>${escaped(plot.title)}</title>
<style>svg { background: #fff } text { fill: #222 } .grid { stroke: #ddd } @media (prefers-color-scheme: dark) { svg { background: #111 } text { fill: #ddd } .grid { stroke: #333 } }</style>
${parts.join("\n")}
</svg>
`;
}

/** Round numbers from 0 on, the last of which is at or above the most. */
function ticksUpTo(most: number): readonly number[] {
  if (most <= 0) return [0, 1];
  const rough = most / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999) ?? rough;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

type Place = (point: Point) => Point;

function placeOf(mostX: number, mostY: number): Place {
  const width = WIDTH - LEFT - RIGHT;
  const height = HEIGHT - TOP - BOTTOM;
  return ({ x, y }) => ({
    x: tenth(LEFT + (x / mostX) * width),
    y: tenth(TOP + height - (y / mostY) * height),
  });
}

function drawn({ name, points }: Line, place: Place, index: number): string {
  const colour = COLOURS[index % COLOURS.length] ?? "#000";
  const placed = points.map(place);
  const dots = placed.map(({ x, y }) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`);
  const y = TOP + 12 + index * 20;
  const x = WIDTH - RIGHT + 16;
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${placed.map(({ x, y }) => `${x},${y}`).join(" ")}"/>`,
    ...dots,
    `<line x1="${x}" y1="${y - 4}" x2="${x + 20}" y2="${y - 4}" stroke="${colour}" stroke-width="3"/>`,
    text(x + 26, y, name, ""),
  ].join("\n");
}

function yTick(y: number, value: number): string {
  return `<line class="grid" x1="${LEFT}" y1="${y}" x2="${WIDTH - RIGHT}" y2="${y}"/>\n${text(LEFT - 8, y + 4, value.toLocaleString("en"), 'text-anchor="end"')}`;
}

function xTick(x: number, value: number): string {
  return `<line class="grid" x1="${x}" y1="${TOP}" x2="${x}" y2="${HEIGHT - BOTTOM}"/>\n${text(x, HEIGHT - BOTTOM + 18, value.toLocaleString("en"), 'text-anchor="middle"')}`;
}

function text(x: number, y: number, words: string, more: string): string {
  return `<text x="${x}" y="${y}"${more === "" ? "" : ` ${more}`}>${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}
