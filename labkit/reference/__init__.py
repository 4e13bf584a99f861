"""Reference of labkit as Markdown, made from the code: for the book, and for `labkit docs NAME` at the terminal."""
