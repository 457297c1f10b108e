import { arrow, band, box, dashedArrow, svg } from "./draw.ts";

/** The terms and their relations: docs/concepts.md. */
export function conceptsDrawing(): string {
  return svg({
    title: "The terms of Signalbox and their relations",
    description:
      "In files: an endpoint is one model at one provider; a route names endpoints in order; a workspace approves routes; a policy declares constraints and has two slots, enforced and candidate. For each request: a key names the workspace, and the decision uses the table and the policies. Allowed requests go to the route's endpoints in order, denied ones are answered with policy, constraint and reason. Kept: evidence records every decision and how it ended. Before a merge: simulation compares the decisions of two versions of the files.",
    width: 960,
    height: 560,
    parts: [
      band(16, 16, 928, 204, "In files, in git: routes.yaml and policies/*.rego"),
      box({ x: 36, y: 58, width: 172, title: "provider", notes: ["vendor, region, terms"] }),
      box({ x: 36, y: 140, width: 172, title: "model", notes: ["what it can do"] }),
      box({ x: 262, y: 98, width: 172, title: "endpoint", notes: ["one model, one provider"] }),
      box({ x: 488, y: 98, width: 172, title: "route", notes: ["endpoints, in order"] }),
      box({
        x: 714,
        y: 58,
        width: 210,
        title: "workspace",
        notes: ["a tenant, and its approvals"],
      }),
      box({ x: 714, y: 140, width: 210, title: "policy", notes: ["constraints: what passes"] }),
      arrow("M208 89 C236 89 234 122 260 122"),
      arrow("M208 171 C236 171 234 138 260 138"),
      arrow("M434 129 H486"),
      arrow("M714 89 C686 89 690 122 662 122"),
      band(16, 236, 928, 170, "For each request, before a provider is called"),
      box({ x: 36, y: 292, width: 172, title: "key", notes: ["one workspace, scopes"] }),
      box({
        x: 290,
        y: 280,
        width: 380,
        title: "decision",
        notes: [
          "what the workspace approves, then every constraint",
          "slot enforced: must pass",
          "slot candidate: in shadow, changes nothing",
        ],
        look: "core",
      }),
      box({ x: 760, y: 258, width: 164, title: "allowed", notes: ["endpoints, in order"] }),
      box({
        x: 760,
        y: 334,
        width: 164,
        title: "denied",
        notes: ["constraint, reason"],
        look: "stop",
      }),
      arrow("M208 321 H288"),
      arrow("M670 312 C716 312 714 287 758 287"),
      arrow("M670 346 C716 346 714 363 758 363"),
      arrow("M574 156 C574 210 540 226 540 278"),
      arrow("M819 198 C819 246 620 226 620 278"),
      band(16, 422, 928, 122, "Afterwards, and before a merge"),
      box({
        x: 290,
        y: 462,
        width: 380,
        title: "evidence",
        notes: ["a chained log: decision and outcome, no text"],
      }),
      box({
        x: 714,
        y: 462,
        width: 210,
        title: "simulation",
        notes: ["two versions, all requests"],
      }),
      arrow("M480 374 V460"),
      dashedArrow("M714 489 C692 489 700 420 654 376"),
    ],
  });
}
