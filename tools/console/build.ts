// `npm run tool -- console`: the console's page into console/dist.
import { resolve } from "node:path";
import { buildConsole } from "./bundle.ts";

await buildConsole(resolve(import.meta.dirname, "../../console/dist"));
