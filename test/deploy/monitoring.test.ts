import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { serverMetrics } from "../../src/server/server-telemetry.ts";
import type { StatusSources } from "../../src/server/status-metrics.ts";
import { poolMetrics } from "../../src/server/workers/start-workers.ts";
import { TERMINALS } from "../../src/evidence/record.ts";
import { familyName } from "../../src/telemetry/families.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { ROOT } from "../support/imports.ts";
import { documents, text, type Document } from "./deployed.ts";

/** The series that /metrics has, with their labels. */
function realSeries(): ReadonlyMap<string, readonly string[]> {
  const metrics = serverMetrics();
  metrics.begin({ runtime: {} } as StatusSources)();
  const series = new Map<string, readonly string[]>();
  const ofWorkers = poolMetrics({
    status: () => ({ configured: 1, ready: 1 }),
    restarts: () => 0,
  });
  for (const family of [...metrics.families(), ...ofWorkers]) {
    const [name, labels] = [familyName(family), family.labels];
    if (family.kind !== "histogram") series.set(name, labels);
    else {
      series.set(`${name}_bucket`, [...labels, "le"]);
      for (const end of ["sum", "count"]) series.set(`${name}_${end}`, labels);
    }
  }
  return series;
}

const SERIES = realSeries();
/** Labels that Prometheus adds. */
const SCRAPED = ["job", "instance"];
const FUNCTIONS = [
  "absent",
  "and",
  "avg",
  "avg_over_time",
  "by",
  "count",
  "histogram_quantile",
  "increase",
  "max",
  "min",
  "or",
  "rate",
  "sum",
  "time",
  "topk",
];

/**
 * What is wrong with an expression: a series or a label that does not exist, a name that is no
 * function, brackets that do not match.
 */
function faults(expression: string): readonly string[] {
  const found: string[] = [];
  const open: string[] = [];
  for (const sign of expression.replaceAll(/"[^"]*"/g, "")) {
    if ("({[".includes(sign)) open.push(sign);
    if (")}]".includes(sign) && open.pop() !== "({["[")}]".indexOf(sign)]) found.push("brackets");
  }
  if (open.length > 0) found.push("brackets");
  const bare = expression.replaceAll(/\[[^\]]*\]/g, "");
  const labels = new Set<string>();
  for (const [, matchers = ""] of bare.matchAll(/\{([^}]*)\}/g)) {
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) labels.add(label);
  }
  for (const [, grouped = ""] of bare.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of grouped.split(",")) labels.add(label.trim());
  }
  const names =
    bare.replaceAll(/\{[^}]*\}|\bby \([^)]*\)|"[^"]*"/g, " ").match(/[a-zA-Z_]\w*/g) ?? [];
  const series = names.filter((name) => !FUNCTIONS.includes(name));
  if (series.length === 0) found.push("no series");
  found.push(...series.filter((name) => !SERIES.has(name)).map((name) => `series ${name}`));
  for (const label of labels) {
    const known =
      SCRAPED.includes(label) || series.every((name) => SERIES.get(name)?.includes(label) === true);
    if (!known) found.push(`label ${label}`);
  }
  if (/\bhistogram_quantile\(/.test(bare) && !labels.has("le")) found.push("no le");
  for (const [, terminals = ""] of expression.matchAll(/terminal=~?"([^"]*)"/g)) {
    const unknown = terminals
      .split("|")
      .filter((terminal) => !TERMINALS.some((one) => one === terminal));
    found.push(...unknown.map((terminal) => `terminal ${terminal}`));
  }
  return found;
}

describe("the Grafana dashboard", () => {
  const dashboard: Document = JSON.parse(text("deploy/grafana/signalbox.json"));
  const panels: readonly Document[] = dashboard.panels;
  const shown = panels.filter(({ type }) => type !== "row");

  it("requests series and labels that /metrics has", () => {
    const expressions: readonly string[] = shown.flatMap(({ targets }) =>
      targets.map(({ expr }: Document) => expr),
    );
    expect(expressions.length).toBeGreaterThan(25);
    expect(
      expressions.flatMap((expression) =>
        faults(expression).map((fault) => `${fault}: ${expression}`),
      ),
    ).toEqual([]);
    expect(dashboard.templating.list.find(({ name }: Document) => name === "job").definition).toBe(
      "label_values(signalbox_build_info, job)",
    );
  });

  it("names labels in its legends that its expressions keep", () => {
    for (const { title, targets } of shown) {
      for (const { expr, legendFormat } of targets) {
        const labels = [...String(legendFormat).matchAll(/\{\{(\w+)\}\}/g)].map(
          ([, label = ""]) => label,
        );
        const kept = /\bby \(/.test(expr)
          ? labels.filter((label) => new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr))
          : ["instance", "worker"];
        expect([title, labels.filter((label) => !kept.includes(label))]).toEqual([title, []]);
      }
    }
  });

  it("has panels with unique titles and positions, from the chosen data source", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(shown.map(({ title }) => title)).size).toBe(shown.length);
    const taken = new Set<string>();
    for (const {
      gridPos: { x, y, w, h },
      datasource,
      type,
    } of panels) {
      expect(x + w).toBeLessThanOrEqual(24);
      if (type !== "row") expect(datasource.uid).toBe("${datasource}");
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          expect(taken.has(`${column} ${line}`)).toBe(false);
          taken.add(`${column} ${line}`);
        }
      }
    }
  });
});

describe("the alert rules", () => {
  const [{ groups }] = documents("deploy/prometheus/signalbox.rules.yaml") as [Document];
  const rules: readonly Document[] = groups.flatMap((group: Document) => group.rules);

  it("request series and labels that /metrics has", () => {
    expect(rules.length).toBeGreaterThan(8);
    const wrong = rules.flatMap(({ alert, expr }) =>
      faults(expr).map((fault) => `${alert}: ${fault}`),
    );
    expect(wrong).toEqual([]);
  });

  it("have a name, a severity and a sentence each, and no member unknown to Prometheus", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const rule of rules) {
      expect(
        Object.keys(rule).filter(
          (key) => !["alert", "expr", "for", "labels", "annotations"].includes(key),
        ),
      ).toEqual([]);
      expect(rule.alert).toMatch(/^Signalbox[A-Z]\w+$/);
      expect(["critical", "warning", "info"]).toContain(rule.labels.severity);
      expect(rule.annotations.summary).toMatch(/\.$/);
      expect(rule.for ?? "1m").toMatch(/^\d+m$/);
    }
  });
});

const NO_PROMTOOL = missingPrograms("promtool");

describe("the alert rules, evaluated by Prometheus", () => {
  it.skipIf(NO_PROMTOOL !== null)(`fire when they should ${NO_PROMTOOL ?? ""}`, () => {
    const run = spawnSync("promtool", ["test", "rules", "test/deploy/signalbox.rules.test.yaml"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(run.stdout + run.stderr).toContain("SUCCESS");
    expect(run.status).toBe(0);
  });
});

describe("the check of expressions", () => {
  it.each([
    ["sum(signalbox_request_total)", "series signalbox_request_total"],
    ["sum by (model) (signalbox_requests_total)", "label model"],
    ['signalbox_requests_total{model="x"}', "label model"],
    ["sum(signalbox_requests_total", "brackets"],
    [
      "histogram_quantile(0.9, sum by (operation) (rate(signalbox_router_seconds_bucket[5m])))",
      "no le",
    ],
    ['signalbox_requests_total{terminal="broken"}', "terminal broken"],
    ["total(signalbox_requests_total)", "series total"],
  ])("reports the fault of %s", (expression, fault) => {
    expect(faults(expression)).toContain(fault);
  });
});
