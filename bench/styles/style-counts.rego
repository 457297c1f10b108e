# METADATA
# scope: package
# title: Counts of lists
# custom:
#   signalbox:
#     contract: 1
#     id: style-counts
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_counts

pass.ok if count(input.key.labels) >= 2

pass.ok if count(input.request.needs) <= 1
# head: pass.ok if count(input.request.needs) <= 2

pass.ok if count({c.provider | some c in input.candidates}) > 2
