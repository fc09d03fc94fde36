/** Colours, type and the frame. Colours say nothing that words or shapes do not say too. */
export const BASE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fafaf8; --raised: #ffffff; --ink: #1c1d1f; --soft: #5c6168; --line: #e4e3de; --track: #e9e8e3;
  --down: #b3261e; --key: #96206e; --held: #4b41b8; --slow: #865200; --up: #1d7446; --blind: #565c64;
  --ours: #bccbe0; --used: #2f5b94; --p1: #c3c8cf; --p2: #949ca8; --p3: #677181; --p4: #2f5b94; --p5: #9db9dd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #141517; --raised: #1b1c1f; --ink: #ebebe8; --soft: #a2a7ae; --line: #2d2f33; --track: #2a2c30;
    --down: #ff8d83; --key: #f59acb; --held: #b2aaff; --slow: #efb752; --up: #6fd09a; --blind: #abb0b8;
    --ours: #33465f; --used: #86b1e8; --p1: #565b63; --p2: #7b828d; --p3: #a7aeb8; --p4: #86b1e8; --p5: #41618a;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 1.25rem clamp(1rem, 4vw, 2.5rem) 4rem; max-width: 74rem;
  font: 400 .9375rem/1.5 Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--ground); font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
h1, h2, h3, p, ul, ol, dl, dd, figure, table { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.4vw, 2.75rem); font-weight: 650; line-height: 1.12; letter-spacing: -.022em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin-bottom: 1rem; font-size: 1.1875rem; font-weight: 600; letter-spacing: -.01em; }
.head { display: flex; flex-wrap: wrap; gap: .25rem 2rem; align-items: end; justify-content: space-between; margin-bottom: 1rem; }
.head h2 { margin: 0; }
h3 { font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; }
b, strong { font-weight: 600; }
a { color: inherit; text-decoration-color: var(--soft); text-decoration-thickness: 1px; text-underline-offset: .2em; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--used); outline-offset: 3px; border-radius: 2px; }
code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
section { margin-top: 3.5rem; }
.top { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; justify-content: space-between; margin-bottom: 2.5rem; color: var(--soft); font-size: .8125rem; }
.brand { font-weight: 600; }
.brand a { text-decoration: none; }
.of { color: var(--soft); font-size: .8125rem; }
.none { color: var(--soft); max-width: 40rem; }
.way { margin-bottom: .75rem; font-size: .8125rem; color: var(--soft); }
.notice { margin-top: 1.25rem; padding: .625rem .875rem; max-width: 46rem; border: 1px solid var(--slow); border-radius: 6px; }
.alarm { color: var(--down); }
.shapes { position: absolute; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .8125rem; }
`;
