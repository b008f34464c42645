{{/* The settings file as text, as it was given. */}}
{{- define "foreslice.text" -}}
{{- $given := required "settings are missing: give --set-file settings=settings.yaml; `foreslice discover` writes one" .Values.settings -}}
{{- kindIs "string" $given | ternary $given (toYaml $given) -}}
{{- end }}

{{/* What is mounted beside each other: the settings file, and what it names. */}}
{{- define "foreslice.files" -}}
foreslice.yaml: {{ include "foreslice.text" . | toJson }}
{{- range $name, $text := .Values.files }}
{{ $name }}: {{ toJson $text }}
{{- end }}
{{- end }}

{{/* "true" where room may be held. */}}
{{- define "foreslice.holds" -}}
{{- $settings := include "foreslice.settings" . | fromJson -}}
{{- and $settings.acting (kindIs "map" $settings.holding) -}}
{{- end }}

{{/* What the settings file says, as JSON; what could never work in a cluster is refused here. */}}
{{- define "foreslice.settings" -}}
{{- $settings := include "foreslice.text" . | fromYaml -}}
{{- if hasKey $settings "Error" }}{{ fail (printf "settings: not valid YAML: %s" $settings.Error) }}{{ end -}}
{{- $cluster := $settings.cluster | default dict -}}
{{- if ne (toString $cluster.kind) "kubernetes" }}{{ fail "settings: cluster.kind must be kubernetes to run in a cluster" }}{{ end -}}
{{- $lease := $cluster.lease_namespace | default "foreslice" -}}
{{- if and $settings.acting (ne $lease .Release.Namespace) -}}
{{- fail (printf "settings: cluster.lease_namespace is %s, and the release is in %s: both must be the same" $lease .Release.Namespace) -}}
{{- end -}}
{{- toJson $settings -}}
{{- end }}

{{/* Namespaces of workloads, as a JSON list. */}}
{{- define "foreslice.namespaces" -}}
{{- $found := .Values.namespaces -}}
{{- range (include "foreslice.settings" . | fromJson).workloads }}{{ $found = append $found (.namespace | default "default") }}{{ end -}}
{{- $found | uniq | sortAlpha | toJson -}}
{{- end }}
