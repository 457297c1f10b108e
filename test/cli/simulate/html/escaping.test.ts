import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { escapeText, html, rawElement } from "../../../../src/cli/document/html.ts";
import { printable } from "../../../../src/cli/terminal/printing.ts";
import { HOSTILE, tainted } from "./hostile-report.ts";
import { skeletonOf, textOf, tokenize } from "./page-tokens.ts";
import { report } from "./report-fixture.ts";
import { codePoint } from "../../../support/code-point.ts";

const CONTEXT = { colour: false, width: 80, reportDigest: null };

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: codePoint, maxLength: 8 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((pieces) => pieces.join(""))
  .filter((text) => text !== "");

describe("names of the report", () => {
  const skeleton = skeletonOf(FORMATS.html(report(), CONTEXT));

  test.each(HOSTILE)("stay in their element: %j", (taint) => {
    const page = FORMATS.html(tainted(report(), taint), CONTEXT);
    expect(skeletonOf(page)).toBe(skeleton);
    expect(textOf(page)).toContain(
      `${printable(taint).toWellFormed()}acme`.replaceAll(/\s+/g, " "),
    );
  });

  test("stay in their element, hostile ones too", () => {
    fc.assert(
      fc.property(hostile, (taint) => {
        expect(skeletonOf(FORMATS.html(tainted(report(), taint), CONTEXT))).toBe(skeleton);
      }),
      { numRuns: 60 },
    );
  });

  test("reach the filter in the form that the page shows", () => {
    for (const taint of HOSTILE) {
      const page = FORMATS.html(tainted(report(), taint), CONTEXT);
      const facets = tokenize(page).flatMap(
        ({ attributes }) => attributes.get("data-facets") ?? [],
      );
      const first: unknown = JSON.parse(facets.at(-1) ?? "");
      expect(first).toMatchObject({ route: [printable(`${taint}chat-large`).toWellFormed()] });
    }
  });

  test("have no invisible character", () => {
    const page = FORMATS.html(tainted(report(), HOSTILE.join("")), CONTEXT);
    expect(page.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });
});

describe("markup", () => {
  test("escapes everything that is not markup", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        const page = html`<b title="${text}">${text}</b>`.toString();
        const [open, ...rest] = tokenize(page);
        expect(open?.attributes.get("title")).toBe(printable(text));
        expect(rest.filter(({ kind }) => kind === "text").map(({ value }) => value)).toEqual(
          text === "" ? [] : [printable(text)],
        );
        expect(escapeText(text)).not.toMatch(/[<>"']/);
      }),
    );
  });

  test("escapes every character that ends a text or an attribute", () => {
    expect(escapeText(`<>&"'`)).toBe("&lt;&gt;&amp;&quot;&#39;");
  });

  test("nests without escaping twice, and is empty for null", () => {
    expect(html`<p>${[html`<b>${"a&b"}</b>`, " ", 3, null]}</p>`.toString()).toBe(
      "<p><b>a&amp;b</b> 3</p>",
    );
  });

  test.each(["</script>", "</STYLE", "<!-- x"])("a style or script cannot hold %s", (text) => {
    expect(() => rawElement("script", text)).toThrow("end early");
  });
});
