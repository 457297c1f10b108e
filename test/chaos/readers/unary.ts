import { objectOf, printed, type Reader } from "./seen.ts";

/** Embeddings, ranks and verdicts: the list of results is the answer. */
export const readResults: Reader = (body) => {
  const problems: string[] = [];
  const answer = objectOf(body, problems);
  const list = answer.data ?? answer.results;
  if (!Array.isArray(list) || list.length === 0) problems.push("an answer without results");
  return {
    end: "whole",
    text: printed(list),
    finish: "",
    usage: printed(answer.usage),
    problems,
  };
};
