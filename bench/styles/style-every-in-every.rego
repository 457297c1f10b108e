# METADATA
# scope: package
# title: Every inside of every
# custom:
#   signalbox:
#     contract: 1
#     id: style-every-in-every
#     owners: [group:platform]
#     constraints:
#       ok: {effect: require_all, reasons: [DENIED]}
package signalbox.policy.style_every_in_every

pass.ok contains c.id if {
	some c in input.candidates
	every group in needed_groups {
		every need in group {
			need in c.capabilities
		}
	}
}

needed_groups := [["tools"] | "tools" in input.request.needs]
# head: needed_groups := [["tools", "json_schema"] | "tools" in input.request.needs]
