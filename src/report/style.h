// The page's style sheet, with the colors of `autodist web`.
#pragma once

namespace autodist::report {

inline constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --bg: #f6f6f3; --ink: #1a1c20; --ink2: #4d525c; --ink3: #686d77;
 --line: #e2e2dd; --accent: #1b5fa8; --slow: #8f5200; --slow-fill: #c27a12; --bad: #b3261e;
 --bad-bg: #fdecea; --disconnected: #6a45b0; --quiet: #97bfd0; --code: #eeeeea; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1114; --ink: #e6e8eb; --ink2: #a9b0ba;
 --ink3: #8a919c; --line: #252a31; --accent: #6db3f2; --slow: #f0b04a; --slow-fill: #e5a43c;
 --bad: #ff8f7d; --bad-bg: #301715; --disconnected: #bda4f7; --quiet: #1d5b73; --code: #1b1f25; } }
* { box-sizing: border-box; margin: 0; }
body { max-width: 1100px; margin: 0 auto; padding: 24px 20px 48px; background: var(--bg);
 color: var(--ink); font: 13px/1.45 Inter, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
 font-variant-numeric: tabular-nums; }
h1 { font-size: 17px; font-weight: 600; overflow-wrap: anywhere; }
h2 { font-size: 12px; font-weight: 600; margin: 28px 0 8px; padding-top: 10px; border-top: 1px solid var(--line); }
p { margin: 8px 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.state { font-weight: 600; }
.running { color: var(--accent); } .slow { color: var(--slow); } .bad { color: var(--bad); } .disconnected { color: var(--disconnected); }
.big { display: flex; flex-wrap: wrap; gap: 10px 0; margin: 12px 0; }
.big div { padding: 0 16px; border-left: 1px solid var(--line); } .big div:first-child { padding-left: 0; border: 0; }
.big dt { font-size: 11px; color: var(--ink3); } .big dd { font-size: 21px; letter-spacing: -.018em; }
.few { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 3px 16px; }
.few dt { color: var(--ink3); } .few dd { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12px; min-width: 100%; margin: 4px 0; }
.parts { min-width: 360px; }
th { text-align: left; font-weight: 500; color: var(--ink3); font-size: 11px; }
th, td { padding: 3px 16px 3px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
.n { text-align: right; white-space: nowrap; }
code, pre { font: 11.5px/1.45 ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { background: var(--code); padding: 8px 10px; border-radius: 6px; max-height: 480px; overflow: auto; margin: 8px 0; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 18px 28px; }
figcaption { display: flex; justify-content: space-between; gap: 8px; } figcaption b { font-weight: 500; overflow-wrap: anywhere; }
figure small { display: flex; justify-content: space-between; } small { font-size: 10px; color: var(--ink3); }
svg { display: block; width: 100%; overflow: visible; }
.curve { height: 90px; } .curve polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.curve circle { fill: var(--accent); } .curve line { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
.curve path { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.shares { height: 14px; margin: 6px 0 10px; } rect { fill: var(--quiet); }
rect.running { fill: var(--accent); } rect.slow { fill: var(--slow-fill); } rect.bad { fill: var(--bad); } rect.disconnected { fill: var(--disconnected); }
.key { display: inline-block; width: 9px; height: 9px; margin-right: 6px; }
@media print { body { max-width: none; } pre { max-height: none; } }
)";

}  // namespace autodist::report
