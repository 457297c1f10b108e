import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import type { ImportedFile } from "./source/read-source.ts";

interface ImportSource {
  /** One line of the help. */
  readonly summary: string;
  readonly load: () => Promise<(file: ImportedFile, imported: ImportedConfiguration) => Promise<void> | void>;
}

/** Gateways whose configurations can be read, by their name on the command line. */
export const IMPORT_SOURCES: Readonly<Record<string, ImportSource>> = {
  litellm: {
    summary: "config.yaml of LiteLLM's proxy",
    load: async () => (await import("./litellm/import-litellm.ts")).importLiteLlm,
  },
  portkey: {
    summary: "a config of Portkey's gateway, or several by name, as JSON",
    load: async () => (await import("./portkey/import-portkey.ts")).importPortkey,
  },
  openrouter: {
    summary: "a list of OpenRouter's model ids, or its answer to GET /models",
    load: async () => (await import("./openrouter/import-openrouter.ts")).importOpenRouter,
  },
};
