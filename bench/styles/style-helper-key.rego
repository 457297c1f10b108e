# METADATA
# scope: package
# title: A helper over the whole key
# custom:
#   signalbox:
#     contract: 1
#     id: style-helper-key
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_helper_key

pass.ok if trusted(input.key)

trusted(key) if {
	key.environment == "production"
	key.workload == "web"
}

trusted(key) if "audit" in key.labels
# head: trusted(key) if "pii" in key.labels

trusted(key) if key.owner == "platform"
