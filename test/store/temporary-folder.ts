import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder that goes with the test. Call it inside a test or a `beforeEach` of one. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
