# METADATA
# scope: package
# title: The input joined with facts
# custom:
#   signalbox:
#     contract: 1
#     id: style-object-union-input
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_object_union_input

facts := object.union(input.request, {"environment": input.key.environment, "tier": input.workspace.tier})

pass.ok if {
	facts.environment == "production"
	facts.zdr
}

pass.ok if facts.tier == "standard"
# head: pass.ok if facts.tier in {"standard", "regulated"}
