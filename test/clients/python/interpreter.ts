import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const LOCAL = join(resolve(import.meta.dirname, "../../.."), ".signalbox/python/bin/python");

/** An interpreter with the packages of `requirements.txt`; `null` where there is none. */
export const INTERPRETER = process.env.SIGNALBOX_PYTHON ?? (existsSync(LOCAL) ? LOCAL : null);

/** For titles: what tests of the Python clients need. */
export const NEEDS =
  "needs SIGNALBOX_PYTHON or .signalbox/python, with test/clients/python/requirements.txt installed";
