//! The page of a run: `cargo run -p feasible-report --example page -- RUN_DIRECTORY OUT.html`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, out] = arguments.as_slice() else { return Err("usage: page RUN OUT".into()) };
    feasible_report::Report::of(run.as_ref())?.write(out.as_ref())?;
    Ok(())
}
