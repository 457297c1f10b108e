# METADATA
# scope: package
# title: Parts of a name
# custom:
#   signalbox:
#     contract: 1
#     id: style-split-owner
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_split_owner

pass.ok if {
	parts := split(input.key.owner, "-")
	parts[0] == "team"
	# head: parts[1] == "risk"
}

pass.ok if input.key.environment == "production"
