# METADATA
# scope: package
# title: Keys with a list of models use no other route
# custom:
#   signalbox:
#     contract: 1
#     id: key-routes
#     owners: [group:platform]
#     constraints:
#       route_listed: {effect: gate, reasons: [ROUTE_NOT_LISTED_FOR_THE_KEY]}
package signalbox.policy.key_routes

# Label of a key: routes that it may use.
allowed := {
	"only-alice": {"gpt-5"},
}

restricted := {"only-alice"}

held contains label if some label in input.key.labels

pass.route_listed if count(held & restricted) == 0

pass.route_listed if {
	some label in held
	input.request.route in allowed[label]
}
