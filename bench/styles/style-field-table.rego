# METADATA
# scope: package
# title: A table of fields
# custom:
#   signalbox:
#     contract: 1
#     id: style-field-table
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_field_table

allowed := {"environment": {"production", "test"}, "owner": {"platform", "team-risk"}}
# head: allowed := {"environment": {"production"}, "owner": {"platform", "team-risk"}}

pass.ok if every field, values in allowed { input.key[field] in values }
