import { arrow, band, box, svg, text } from "./draw.ts";

/** The life of a policy change: docs/policy-lifecycle.md. */
export function policyLifeDrawing(): string {
  return svg({
    title: "The life of a policy change",
    description:
      "In git: an author changes the file on a branch; a simulation and tests run on the pull request; it is merged. On the server: the new content enters as the candidate, which is evaluated for every request without an effect. Approvers approve this one content. A promotion makes it the enforced content, within a second on every replica. A rollback makes the earlier content enforced again. The policy log records every step in a chain of hashes.",
    width: 960,
    height: 372,
    parts: [
      band(16, 16, 340, 210, "In git"),
      box({ x: 36, y: 56, width: 136, title: "branch", notes: ["author:", "policy new, test"] }),
      box({ x: 200, y: 56, width: 136, title: "review", notes: ["simulate,", "assertions"] }),
      box({ x: 200, y: 160, width: 136, title: "merged", notes: [] }),
      arrow("M172 94 H198"),
      arrow("M268 132 V158"),
      band(372, 16, 572, 210, "On every server of a store"),
      box({
        x: 392,
        y: 96,
        width: 152,
        title: "candidate",
        notes: ["in shadow: counted,", "without an effect"],
      }),
      box({
        x: 584,
        y: 56,
        width: 136,
        title: "approved",
        notes: ["one content,", "by its digest"],
      }),
      box({
        x: 768,
        y: 96,
        width: 152,
        title: "enforced",
        notes: ["decides every", "request"],
        look: "core",
      }),
      arrow("M336 180 C370 180 360 134 390 134"),
      arrow("M544 118 C566 112 566 94 582 94"),
      arrow("M720 94 C748 94 744 118 766 122"),
      arrow("M876 172 C876 212 812 212 812 174"),
      text("label", 726, 66, "promote, within a second"),
      text("label", 584, 200, "rollback: the earlier content"),
      band(16, 242, 928, 112, "The policy log"),
      box({
        x: 36,
        y: 276,
        width: 300,
        title: "content, approval, promotion",
        notes: ["who, when, why, which report"],
        look: "box",
      }),
      text("label", 360, 300, "Every step is a row with the hash of the row before."),
      text("label", 360, 322, "An auditor verifies it: signalbox policy verify"),
    ],
  });
}
