# METADATA
# scope: package
# title: A pattern of owners
# custom:
#   signalbox:
#     contract: 1
#     id: style-regex-owner
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_regex_owner

pass.ok if regex.match("^team-", input.key.owner)
# head: pass.ok if regex.match("^team-r", input.key.owner)

pass.ok if input.key.environment == "production"
