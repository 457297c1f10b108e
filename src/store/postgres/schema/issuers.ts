export const ISSUERS = `
CREATE TABLE signalbox.issuers (
  kid text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE TRIGGER issuers_never_change BEFORE UPDATE ON signalbox.issuers
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('issuers never change; publish another');
`;
