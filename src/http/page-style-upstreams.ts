/** The sick fill the width and are raised; the healthy stand side by side. */
export const UPSTREAM_STYLE = `
.upstreams { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem; }
.upstream { --state: var(--blind); }
.upstream.up { --state: var(--up); } .upstream.degraded { --state: var(--slow); }
.upstream.throttled { --state: var(--held); } .upstream.unauthorized { --state: var(--key); }
.upstream.down { --state: var(--down); }
.upstream { container-type: inline-size; }
.upstreams > .upstream { padding: 1.25rem 1.375rem 1.375rem; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); min-width: 0; }
.upstreams > .upstream:not(.up) { grid-column: 1 / -1; border-left: 4px solid var(--state); padding: 1.5rem 1.625rem; }
.upstream > header { display: grid; grid-template-columns: auto 1fr; gap: 0 .625rem; align-items: center; }
.upstream > header .state { grid-column: 2; }
.sign { width: 1.25rem; height: 1.25rem; fill: var(--state); color: var(--state); flex: none; }
.sign { stroke: none; }
.cut { fill: none; stroke: var(--raised); stroke-width: 2.25; stroke-linecap: round; stroke-linejoin: round; }
.open { fill: none; stroke: currentColor; stroke-width: 2; stroke-dasharray: 3.2 2.45; }
.query { fill: none; stroke: currentColor; stroke-width: 2.25; stroke-linecap: round; }
.state { color: var(--soft); }
.state strong { color: var(--state); }
.state .of { display: inline-block; }
.upstream:not(.up) h3 { font-size: 1.125rem; }
.upstream:not(.up) .state { font-size: 1.125rem; }
.upstream:not(.up) > header .sign { width: 1.75rem; height: 1.75rem; }
.upstream:not(.up) .state strong { font-size: 1.5rem; font-weight: 650; letter-spacing: -.012em; line-height: 1.25; }
.reason { margin: .375rem 0 1rem; max-width: 52rem; text-wrap: pretty; }
.upstream:not(.up) .reason { margin: .625rem 0 1.375rem; font-size: 1.0625rem; }
.upstream:not(.up) .reason strong { display: block; margin-bottom: .125rem; font-size: 1.1875rem; letter-spacing: -.01em; }
.seen { display: grid; gap: 1.125rem; }
.told { display: grid; gap: 1rem; align-content: start; }
section.upstream { margin-top: 0; }
section.upstream > header { align-items: start; }
section.upstream > header .sign { width: 2.25rem; height: 2.25rem; margin-top: .25rem; }
section.upstream > p.of { margin-bottom: 1rem; }
section.upstream > .seen { margin-bottom: 1rem; }
@container (min-width: 44rem) {
  .seen { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 2.5rem; }
}
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .375rem .875rem; }
.facts dt { color: var(--soft); font-size: .8125rem; line-height: 1.75; }
.facts dd { min-width: 0; }
.detail { color: var(--soft); font-size: .8125rem; overflow-wrap: anywhere; }
`;
