//! Colours: for light and dark, and for eyes that see few of them.
//!
//! The first six are those of Okabe and Ito, darkened or lightened for contrast with the paper
//! they stand on; lines also differ by their dashes, so that colour is never the only sign.

/// Colours that series can have before they repeat.
pub(crate) const COLOURS: usize = 7;

/// Dashes of the series, for those who print without colour.
pub(crate) const DASHES: [&str; COLOURS] = ["", "6 3", "2 2.5", "9 3 2 3", "4 2", "1 3", "12 4"];

const LIGHT: &str = "--ink:#1d2330;--soft:#5a6373;--grid:#e3e6ec;--paper:#fff;--shade:#009e731f;\
--mute:#a3abb8;--c0:#0072b2;--c1:#c2500a;--c2:#00805d;--c3:#b0568a;--c4:#a06d00;--c5:#2b87bd;--c6:#6b5b95";

const DARK: &str = "--ink:#e8ebf2;--soft:#a2abbb;--grid:#2c3442;--paper:#161b24;--shade:#2bc79b26;\
--mute:#5d6778;--c0:#5ab4f0;--c1:#f2914f;--c2:#35cfa3;--c3:#e79ac6;--c4:#e8b33c;--c5:#8fd0f7;--c6:#b7a6e8";

const RULES: &str = "\
.chart{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}\
.chart .t{font-size:14px;font-weight:600}\
.chart .s{fill:var(--soft)}\
.chart .e{text-anchor:end}.chart .m{text-anchor:middle}\
.chart .grid{stroke:var(--grid);fill:none;shape-rendering:crispEdges}\
.chart .zero{stroke:var(--mute);fill:none;shape-rendering:crispEdges}\
.chart .shade{fill:var(--shade)}\
.chart .rule{stroke:var(--ink);stroke-dasharray:3 3;fill:none}\
.chart .l{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
.chart .f{stroke:none}\
.chart .band{stroke:none;opacity:.2}\
.chart .whisker{stroke:var(--ink);stroke-width:1.5;fill:none}\
.chart .join{stroke:var(--mute);stroke-width:1;fill:none}\
.chart .box{fill:var(--paper);stroke:var(--grid)}\
.chart .hit{fill:transparent}\
.chart .on{visibility:hidden;pointer-events:none}\
.chart .tip:hover .on{visibility:visible}\
.chart .bar:hover{opacity:.75}";

/// The style sheet of all charts on a page: colours as CSS variables, light or dark as the
/// reader's system says.
pub fn css() -> String {
    let mut css = format!(
        ":root{{color-scheme:light dark;{LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}\
         @media print{{:root{{{LIGHT}}}}}{RULES}"
    );
    for k in 0..COLOURS {
        css += &format!(".chart .l.c{k}{{stroke:var(--c{k})}}.chart .f.c{k}{{fill:var(--c{k})}}");
    }
    css + ".chart .l.mute{stroke:var(--mute);stroke-width:1}.chart .f.mute{fill:var(--mute)}"
}
