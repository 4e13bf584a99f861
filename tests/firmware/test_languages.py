"""Languages whose programs live on lab time, unchanged: each sleeps, and prints its process id and the time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from labkit import Lab
from tests.rig import ran

JAVA = """class Program {
    static void show() {
        System.out.println(ProcessHandle.current().pid() + " " + System.currentTimeMillis() / 1000);
    }
    public static void main(String[] words) throws Exception { show(); Thread.sleep(SECONDS * 1000); show(); }
}"""
RUST = """use std::{process, sync::mpsc, thread, time::*};
fn show() {
    println!("{} {}", process::id(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs());
}
fn main() {
    let (told, hears) = mpsc::channel();
    show();
    let sends = told.clone();
    thread::spawn(move || { thread::sleep(Duration::from_secs(SECONDS - 9)); sends.send(7) });
    assert_eq!(hears.recv(), Ok(7));
    assert!(hears.recv_timeout(Duration::from_secs(9)).is_err());
    drop(told);
    show();
}"""
# by language: name and text of the source, how it is built, how it is started, seconds for which it sleeps
LANGUAGES = {
    "perl": ("p", '$| = 1; for (0, SECONDS) { sleep $_; print "$$ ", time, "\\n" }', "", "perl p", 3600),
    "bash": ("p", "for n in 0 SECONDS; do sleep $n; printf '%d %(%s)T\\n' $$; done", "", "bash p", 3600),
    # Its own threads wake 20 times in a second.
    "java": ("Program.java", JAVA, "javac Program.java", "java -cp . -XX:-UsePerfData Program", 2),
    "rust": ("p.rs", RUST, "rustc p.rs", "./p", 3600),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", list(LANGUAGES))
def test_a_language_is_on_lab_time(lab: Lab, tmp_path: Path, language: str) -> None:
    name, text, build, start, seconds = LANGUAGES[language]
    if shutil.which((build or start).split()[0]) is None:
        pytest.skip(f"no {language}")
    (tmp_path / name).write_text(text.replace("SECONDS", str(seconds)))
    if build:
        ran(*build.split(), cwd=tmp_path, check=True)
    run = lab.firmware(start.split(), identity="d", cwd=tmp_path, ends=True)
    lab.clock.advance(seconds)
    (pid, began), (same, ended) = (each.text.split() for each in run.output)
    assert pid == same
    assert int(ended) - int(began) == seconds
    assert lab.clock.time == int(ended)
