//! Relative links and anchors of every Markdown file in the repository, and the list of chapters.

use super::markdown::{anchors, prose};
use super::{markdown_files, read, repository};

/// The targets of links and images in a line.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let html = ["src=\"", "href=\""].into_iter();
    let html = html.flat_map(|key| line.split(key).skip(1));
    let html = html.filter_map(|rest| Some(rest.split_once('"')?.0));
    inline.chain(html).map(String::from).collect()
}

#[test]
fn every_relative_link_and_anchor_leads_somewhere() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for file in markdown_files(".") {
        let text = read(&file);
        let directory = file.rsplit_once('/').map_or(".", |(directory, _)| directory);
        for (line, words) in prose(&text) {
            for target in targets(&words) {
                if target.contains("://") || target.starts_with("mailto:") || target == "self" {
                    continue;
                }
                seen += 1;
                let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let page = match path {
                    "" => file.clone(),
                    path => format!("{directory}/{path}"),
                };
                let found = repository(&page).exists()
                    && (anchor.is_empty()
                        || !page.ends_with(".md")
                        || anchors(&read(&page)).iter().any(|known| known == anchor));
                if !found {
                    dead.push(format!("{file}:{line}: {target}"));
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn every_page_of_the_book_is_listed_once() {
    let summary = read("docs/SUMMARY.md");
    let listed: Vec<String> = summary.lines().flat_map(targets).collect();
    for file in markdown_files("docs") {
        let name = file.strip_prefix("docs/").unwrap();
        let times = listed.iter().filter(|listed| *listed == name).count();
        assert_eq!(times, usize::from(name != "SUMMARY.md"), "{name} in docs/SUMMARY.md");
    }
}
