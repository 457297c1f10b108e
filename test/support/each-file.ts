import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// Vitest runs this file (`setupFiles`) before each test file; what is registered first of `afterAll` runs last.
afterAll(endFile);
