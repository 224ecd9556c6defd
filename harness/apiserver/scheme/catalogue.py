"""The resources that Kubernetes 1.36 serves, as a table.

A line is a resource: kind, plural, scope (`N` namespaced, `-` cluster), short names, subresources,
categories, marks; `-` stands for none. A heading names the group and version. The order is that of
discovery. Marks:

    stored          the resource has objects (all but reviews and bindings)
    returned        DELETE returns the object even if it is removed immediately
    generation      metadata.generation counts the changes of the spec
    versioned       a PUT without metadata.resourceVersion is rejected
    created         a PUT of a name that does not exist creates the object
"""

RESOURCES = """
= v1
Binding                bindings                N -      -                                              -    -
ConfigMap              configmaps              N cm     -                                              -    stored
Endpoints              endpoints               N ep     -                                              -    stored,created
Event                  events                  N ev     -                                              -    stored,created
LimitRange             limitranges             N limits -                                              -    stored,created
Namespace              namespaces              - ns     finalize,status                                -    stored,returned
Node                   nodes                   - no     status                                         -    stored
PersistentVolumeClaim  persistentvolumeclaims  N pvc    status                                         -    stored,returned
PersistentVolume       persistentvolumes       - pv     status                                         -    stored,returned
Pod                    pods                    N po     binding,eviction,status                        all stored,returned,generation
PodTemplate            podtemplates            N -      -                                              -    stored,returned,generation
ReplicationController  replicationcontrollers  N rc     status                                         all  stored,generation
ResourceQuota          resourcequotas          N quota  status                                         -    stored,returned
Secret                 secrets                 N -      -                                              -    stored
ServiceAccount         serviceaccounts         N sa     -                                              -    stored,returned
Service                services                N svc    status                                         all  stored,returned,created
= apiregistration.k8s.io/v1
APIService             apiservices             - -      status                                         api-extensions stored,versioned
= apps/v1
ControllerRevision     controllerrevisions     N -      -                                              -    stored
DaemonSet              daemonsets              N ds     status                                         all  stored,generation
Deployment             deployments             N deploy status                                         all  stored,generation
ReplicaSet             replicasets             N rs     status                                         all  stored,generation
StatefulSet            statefulsets            N sts    status                                         all  stored,generation
= events.k8s.io/v1
Event                  events                  N ev     -                                              -    stored,created
= authentication.k8s.io/v1
SelfSubjectReview      selfsubjectreviews      - -      -                                              -    -
TokenReview            tokenreviews            - -      -                                              -    -
= authorization.k8s.io/v1
LocalSubjectAccessReview localsubjectaccessreviews N -  -                                              -    -
SelfSubjectAccessReview selfsubjectaccessreviews - -    -                                              -    -
SelfSubjectRulesReview selfsubjectrulesreviews - -      -                                              -    -
SubjectAccessReview    subjectaccessreviews    - -      -                                              -    -
= autoscaling/v2
HorizontalPodAutoscaler horizontalpodautoscalers N hpa  status                                         all  stored
= batch/v1
CronJob                cronjobs                N cj     status                                         all  stored,generation
Job                    jobs                    N -      status                                         all  stored,generation
= certificates.k8s.io/v1
CertificateSigningRequest certificatesigningrequests - csr approval,status                             -    stored
= networking.k8s.io/v1
IngressClass           ingressclasses          - -      -                                              -    stored,generation
Ingress                ingresses               N ing    status                                         -    stored,generation
IPAddress              ipaddresses             - ip     -                                              -    stored
NetworkPolicy          networkpolicies         N netpol -                                              -    stored,generation
ServiceCIDR            servicecidrs            - -      status                                         -    stored
= policy/v1
PodDisruptionBudget    poddisruptionbudgets    N pdb    status                                         -    stored,generation,versioned
= rbac.authorization.k8s.io/v1
ClusterRoleBinding     clusterrolebindings     - -      -                                              -    stored,created
ClusterRole            clusterroles            - -      -                                              -    stored,created
RoleBinding            rolebindings            N -      -                                              -    stored,created
Role                   roles                   N -      -                                              -    stored,created
= storage.k8s.io/v1
CSIDriver              csidrivers              - -      -                                              -    stored,returned
CSINode                csinodes                - -      -                                              -    stored,returned,versioned
CSIStorageCapacity     csistoragecapacities    N -      -                                              -    stored,versioned
StorageClass           storageclasses          - sc     -                                              -    stored,returned
VolumeAttachment       volumeattachments       - -      status                                         -    stored,returned,versioned
VolumeAttributesClass  volumeattributesclasses - vac    -                                              -    stored,returned
= admissionregistration.k8s.io/v1
MutatingAdmissionPolicy mutatingadmissionpolicies - -   -                                              api-extensions stored,generation,versioned
MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings - - -                                   api-extensions stored,generation,versioned
MutatingWebhookConfiguration mutatingwebhookconfigurations - - -                                       api-extensions stored,generation,versioned
ValidatingAdmissionPolicy validatingadmissionpolicies - - status                                       api-extensions stored,generation,versioned
ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - - -                               api-extensions stored,generation,versioned
ValidatingWebhookConfiguration validatingwebhookconfigurations - - -                                   api-extensions stored,generation,versioned
= scheduling.k8s.io/v1
PriorityClass          priorityclasses         - pc     -                                              -    stored,generation
= coordination.k8s.io/v1
Lease                  leases                  N -      -                                              -    stored,versioned,created
= node.k8s.io/v1
RuntimeClass           runtimeclasses          - -      -                                              -    stored,versioned
= discovery.k8s.io/v1
EndpointSlice          endpointslices          N -      -                                              -    stored,generation
= resource.k8s.io/v1
DeviceClass            deviceclasses           - -      -                                              -    stored,returned,generation
ResourceClaim          resourceclaims          N -      status                                         -    stored,returned
ResourceClaimTemplate  resourceclaimtemplates  N -      -                                              -    stored,returned
ResourceSlice          resourceslices          - -      -                                              -    stored,returned,generation
= flowcontrol.apiserver.k8s.io/v1
FlowSchema             flowschemas             - -      status                                         -    stored,generation
PriorityLevelConfiguration prioritylevelconfigurations - - status                                      -    stored,generation
"""

OPTIONAL_RESOURCES = """
= resource.k8s.io/v1beta2
DeviceClass            deviceclasses           - -      -                                              -    stored,returned,generation
DeviceTaintRule        devicetaintrules        - -      status                                         -    stored,returned,generation
ResourceClaim          resourceclaims          N -      status                                         -    stored,returned
ResourceClaimTemplate  resourceclaimtemplates  N -      -                                              -    stored,returned
ResourceSlice          resourceslices          - -      -                                              -    stored,returned,generation
= resource.k8s.io/v1alpha3
DeviceTaintRule        devicetaintrules        - -      status                                         -    stored,returned,generation
= scheduling.k8s.io/v1alpha2
PodGroup               podgroups               N -      status                                         -    stored
"""
"""Resources that Kubernetes serves if `--runtime-config` enables their version."""
