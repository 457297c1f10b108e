# METADATA
# scope: package
# title: Reasons of candidates
# custom:
#   signalbox:
#     contract: 1
#     id: style-reasons
#     owners: [group:platform]
#     constraints:
#       ok: {effect: filter, reasons: [TRAINS]}
package signalbox.policy.style_reasons

pass.ok contains c.id if {
	some c in input.candidates
	not why[c.id]
}

why[c.id] := "TRAINS" if {
	some c in input.candidates
	c.trains_on_data
	"pii" in input.key.labels
}

reason.ok[id] := why[id] if some id in object.keys(why)

pass.ok contains c.id if {
	some c in input.candidates
	input.request.data_collection == "allow"
	# head: input.request.zdr
}
