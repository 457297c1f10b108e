import { existsSync, readFileSync } from "node:fs";
import { parseJson, isJsonObject } from "../../canon/json.ts";
import { contractSha256, openApiDocument } from "./openapi.ts";

/** What `npm run build` has computed; beside the sources there is no such file. */
const BUILT = new URL("./deployed.json", import.meta.url);

/** The contract that a server answers, made when it is first requested: making it is a tenth of a start. */
export class DeployedContract {
  #sha256: string | null = null;
  #text: string | null = null;

  /** {@link contractSha256} of the document. */
  get sha256(): string {
    return (this.#sha256 ??= builtSha256() ?? contractSha256(openApiDocument()));
  }

  /** The document as JSON. */
  get text(): string {
    return (this.#text ??= JSON.stringify(openApiDocument()));
  }
}

function builtSha256(): string | null {
  if (!existsSync(BUILT)) return null;
  const read: unknown = parseJson(readFileSync(BUILT, "utf8"));
  return isJsonObject(read) && typeof read["sha256"] === "string" ? read["sha256"] : null;
}
