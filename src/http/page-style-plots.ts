export const PLOT_STYLE = `
svg { display: block; }
.strip, .plot, .gauge, .bar { width: 100%; overflow: visible; }
.base { stroke: var(--line); }
rect.ok { fill: var(--up); opacity: .75; } rect.slow { fill: var(--slow); }
rect.failed { fill: var(--down); } rect.refused { fill: var(--key); }
rect.throttled { fill: var(--raised); stroke: var(--held); stroke-width: 1.5; }
.strip rect { rx: 1px; }
.strip g:hover rect { opacity: .6; }
.legend { display: flex; flex-wrap: wrap; gap: .125rem 1rem; color: var(--soft); font-size: .75rem; }
.legend li, .level { display: inline-flex; gap: .375rem; align-items: center; }
.legend svg { width: 3px; height: 14px; overflow: visible; }
.drawn { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-content: start; row-gap: .625rem; }
.level { margin-right: .875rem; }
.level b { color: var(--ink); }
.latency { display: contents; }
.latency figcaption { grid-column: 1 / -1; color: var(--soft); font-size: .8125rem; }
.strip { grid-column: 1; } .plot { grid-column: 1; } .axis { grid-column: 2; }
.axis text { fill: var(--soft); font-size: 11px; }
.plot svg { overflow: visible; }
.grid { stroke: var(--line); }
.curve { fill: none; stroke: var(--ink); stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.dots { fill: none; stroke: var(--ink); stroke-width: 5; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.p50 { stroke: var(--used); opacity: .6; }
.p95 { stroke: var(--used); opacity: .75; stroke-dasharray: 6 4; }
.objective { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 1.5 3; }
.phases { margin-top: .25rem; color: var(--soft); font-size: .8125rem; }
.phases ul { display: flex; flex-wrap: wrap; gap: 0 .875rem; margin-top: .25rem; }
.phases li { display: inline-flex; gap: .3125rem; align-items: center; }
.phases b { color: var(--ink); font-weight: 500; }
.bar rect { stroke: var(--raised); stroke-width: 1; }
.dns { fill: var(--p1); } .connect { fill: var(--p2); } .tls { fill: var(--p3); } .wait { fill: var(--p4); } .transfer { fill: var(--p5); }
.track { fill: var(--track); } .ours { fill: var(--ours); } .used { fill: var(--used); }
.mark { stroke: var(--ink); stroke-width: 2; }
`;
