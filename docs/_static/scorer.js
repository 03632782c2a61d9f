// Search ranks the guides first, then the pages that say how to use a thing, then the tutorial and the cookbook, which have a bit of
// everything, then the reference, and the pages for contributors last.
var Scorer = {
  score: (result) => {
    const [docname, , , , score] = result;
    if (docname === "tutorial" || docname === "cookbook") return score + 14;
    if (docname.startsWith("guides/")) return score + 30;
    if (docname.startsWith("api/")) return score;
    if (["architecture", "conventions", "twins", "benchmarks"].includes(docname)) return score - 20;
    return score + 15;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
