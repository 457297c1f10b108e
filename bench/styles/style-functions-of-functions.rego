# METADATA
# scope: package
# title: Functions of functions
# custom:
#   signalbox:
#     contract: 1
#     id: style-functions-of-functions
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_functions_of_functions

within(value, limit) if position(value) <= position(limit)

position(value) := [number | some number, size in sizes; size == value][0]

sizes := ["unspecified", "to_1k", "to_4k", "to_16k", "to_64k", "to_200k", "to_1m", "over_1m"]

limit_of(_, workspace) := "over_1m" if workspace.tier == "internal"

limit_of(key, workspace) := "to_64k" if {
	workspace.tier != "internal"
	key.environment == "production"
}

limit_of(key, workspace) := "to_4k" if {
	workspace.tier != "internal"
	key.environment != "production"
	# head: key.environment == "test"
}

pass.ok if within(input.request.context, limit_of(input.key, input.workspace))
