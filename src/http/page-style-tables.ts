export const TABLE_STYLE = `
table { width: 100%; border-collapse: collapse; }
th, td { padding: .3125rem .875rem .3125rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline; }
tr > :last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .8125rem; font-weight: 500; }
tbody th { font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; }
.wide td:not(.number) { min-width: 6.5rem; }
.wide time { white-space: nowrap; }
.polls { max-width: 48rem; }
.availability caption { padding-bottom: .25rem; text-align: left; font-weight: 600; }
.availability th { width: 3.25rem; font-weight: 400; white-space: nowrap; }
.availability .ratio { width: 5.5rem; font-weight: 600; white-space: nowrap; }
.missed .ratio, .missed .of b { color: var(--slow); }
.budgets { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem; }
.budget { padding: 1.125rem 1.375rem 1.25rem; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); }
.budget.paused { border-left: 4px solid var(--held); }
.pause { margin-top: .25rem; } .pause strong { color: var(--held); }
.rate { margin: .5rem 0 .75rem; }
.rate .of { display: block; }
.rate .gauge { margin-top: .375rem; }
.said { color: var(--soft); font-size: .8125rem; }
.incidents .down b { color: var(--down); } .incidents .unauthorized b { color: var(--key); }
.incidents .throttled b { color: var(--held); }
.polls td:first-child { white-space: nowrap; }
.polls .failed b { color: var(--down); } .polls .refused b { color: var(--key); }
.polls .throttled b { color: var(--held); } .polls .slow b { color: var(--slow); }
.failures > li { padding: 1.125rem 0; border-top: 1px solid var(--line); }
.failures { margin-top: 1rem; }
.failures h3::first-letter { text-transform: uppercase; }
.failures .facts { margin-top: .5rem; }
.headers { display: flex; flex-wrap: wrap; gap: 0 1.125rem; color: var(--soft); font-size: .8125rem; }
.headers code { color: var(--ink); }
.excerpt { padding: .5rem .75rem; border-radius: 6px; background: var(--track); overflow-wrap: anywhere; }
`;
