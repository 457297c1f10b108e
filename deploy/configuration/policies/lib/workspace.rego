package signalbox.lib.workspace

# Values that routes.yaml may declare later.
# signalbox: later standard

labelled(label) if label in input.workspace.labels

standard if input.workspace.tier == "standard"
