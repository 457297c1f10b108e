/**
 * Vector lengths and windows of models that embed, by the vendor's name of the model without its path: a row has to say them, and no gateway's
 * configuration does. From the vendors' pages that docs/providers.md and docs/presets.md cite.
 */
interface EmbeddingModel {
  readonly form: RegExp;
  readonly dimensions: readonly number[];
  readonly usual?: number;
  readonly window: number;
}

const ROWS: readonly EmbeddingModel[] = [
  { form: /^text-embedding-3-small$/, dimensions: [512, 1536], usual: 1536, window: 8192 },
  { form: /^text-embedding-3-large$/, dimensions: [256, 1024, 3072], usual: 3072, window: 8192 },
  { form: /^text-embedding-ada-002$/, dimensions: [1536], window: 8192 },
  { form: /^amazon\.titan-embed-text-v2/, dimensions: [256, 512, 1024], usual: 1024, window: 8192 },
  { form: /^amazon\.nova-2-multimodal-embeddings/, dimensions: [256, 384, 1024, 3072], usual: 3072, window: 8192 },
  { form: /^(?:cohere\.)?embed-v4/i, dimensions: [256, 512, 1024, 1536], usual: 1536, window: 128_000 },
  {
    form: /^(?:cohere[.-])?embed-(?:v3-)?(?:english|multilingual)(?:-v3(?:\.0|:0)?)?$/i,
    dimensions: [1024],
    window: 512,
  },
  { form: /^gemini-embedding-001$/, dimensions: [768, 1536, 3072], usual: 3072, window: 2048 },
  { form: /^gemini-embedding-2/, dimensions: [768, 1536, 3072], usual: 3072, window: 8192 },
  {
    form: /^text-(?:multilingual-)?embedding-00[45]$|^text-multilingual-embedding-002$/,
    dimensions: [768],
    window: 2048,
  },
  { form: /^mistral-embed/, dimensions: [1024], window: 8192 },
  {
    form: /^voyage-(?:3\.5|4|3-large)(?:-lite|-large)?$/,
    dimensions: [256, 512, 1024, 2048],
    usual: 1024,
    window: 32_000,
  },
  { form: /^jina-embeddings-v3$/, dimensions: [256, 512, 1024], usual: 1024, window: 8192 },
  { form: /^nomic-embed-text/, dimensions: [768], window: 8192 },
  { form: /^mxbai-embed-large/, dimensions: [1024], window: 512 },
  { form: /^bge-(?:m3|large-en-v1\.5)$/i, dimensions: [1024], window: 512 },
];

/** `undefined` for a model that is not listed. @param name with or without a path. */
export function embeddingModel(name: string): EmbeddingModel | undefined {
  const bare =
    name
      .split("/")
      .at(-1)
      ?.replace(/:latest$/, "") ?? name;
  return ROWS.find(({ form }) => form.test(bare));
}
