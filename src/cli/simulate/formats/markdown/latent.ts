import { capitalised, numberText } from "../../../terminal/amounts.ts";
import type { ReportModel } from "../model.ts";
import { LATENT_SENTENCE, LATENT_TITLE, latentCut, latentText } from "../wording/latent.ts";
import type { Comment } from "./budget.ts";
import { code } from "./escape.ts";

/** @param free characters for what follows. */
export function writeLatent(comment: Comment, { latent }: ReportModel, free: number): void {
  const changes = latent?.changes ?? [];
  const cut = latentCut(latent);
  if (changes.length === 0 && cut === null) return;
  comment.write("", `### ${LATENT_TITLE} (${numberText(changes.length)})`, "", LATENT_SENTENCE, "");
  comment.list(
    changes.map((change) => () => [
      `- policy ${code(change.policy)} ${code(latentText(change))}${change.place === null ? "" : `, ${code(`${change.place.file}:${change.place.line}`)}`}`,
    ]),
    "latent change",
    20,
    free,
  );
  if (cut !== null) comment.write("", `${capitalised(cut)}.`);
}
