/**
 * Batches of evidence are compressed by the server, where it was built with LZ4: it reads them to hash and to search them.
 * Its other method, pglz, would take longer than all the rest. Batches that are there stay as they are.
 */
export const COMPRESSED_EVIDENCE = `
DO $$ BEGIN
  ALTER TABLE signalbox.evidence_batches ALTER records SET COMPRESSION lz4, ALTER records SET STORAGE EXTENDED;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END $$;
`;
