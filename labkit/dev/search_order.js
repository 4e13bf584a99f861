// Order of the results of the book's search. Sphinx knows words and titles only; here a page that answers a question is
// before a notebook or a table that has the same words. Settings and functions are described in Sphinx's searchtools.js.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  parts: { "how-to": 40, tutorials: 20, explanation: 10, notebooks: -10 },
  fullName: 200, // of a Python object: more than a page can have
  sought: 300, // words of the page's entries in the index alone: it answers

  words: (text) => {
    const stemmer = new Stemmer();
    const found = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return new Set(found.map((word) => stemmer.stemWord(word)));
  },

  // The words of a page's entries in the index, which navigation.py has.
  entries: (page) => {
    const found = Object.entries(Search._index.indexentries).filter(([, places]) =>
      places.some(([number, , main]) => main && Search._index.docnames[number] === page),
    );
    return Scorer.words(found.map(([entry]) => entry).join(" "));
  },

  score: (result) => {
    const [page, title, , , score, , kind] = result;
    const query = new URLSearchParams(window.location.search).get("q") || "";
    if (kind === "object" && `.${title}`.toLowerCase().endsWith(`.${query.trim().toLowerCase()}`)) {
      return score + Scorer.fullName;
    }
    const asked = Scorer.words(query);
    const titled = Scorer.words(title);
    const shared = [...asked].filter((word) => titled.has(word)).length;
    const part = page.endsWith("/index") ? 0 : Scorer.parts[page.split("/")[0]] || 0;
    const entries = Scorer.entries(page);
    const sought = asked.size && [...asked].every((word) => entries.has(word)) ? Scorer.sought : 0;
    return score + sought + part + (30 * shared) / (asked.size || 1) + (10 * shared) / (titled.size || 1);
  },
};
