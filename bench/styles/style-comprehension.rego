# METADATA
# scope: package
# title: A comprehension of candidates
# custom:
#   signalbox:
#     contract: 1
#     id: style-comprehension
#     owners: [group:platform]
#     constraints:
#       ok: {effect: filter, reasons: [DENIED]}
package signalbox.policy.style_comprehension

cheap := [c | some c in input.candidates; c.price.output < 20]

pass.ok contains c.id if some c in cheap

pass.ok contains c.id if {
	some c in input.candidates
	"vip" in input.key.labels
	# head: "audit" in input.key.labels
}
