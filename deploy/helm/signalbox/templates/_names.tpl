{{- define "signalbox.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A policy's path as a key of a ConfigMap. */ -}}
{{- define "signalbox.key" -}}
{{ replace "/" "." . }}
{{- end -}}
